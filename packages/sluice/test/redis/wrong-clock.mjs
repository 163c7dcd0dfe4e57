// Loaded before anything else by processes whose clock is to be wrong: moves the wall clock by
// WRONG_CLOCK_MS milliseconds, in the two ways in which the library can read it.

const wrongByMs = Number(process.env.WRONG_CLOCK_MS);
const rightNow = Date.now;
const rightOriginMs = performance.timeOrigin;

Date.now = () => rightNow() + wrongByMs;
Object.defineProperty(performance, "timeOrigin", { value: rightOriginMs + wrongByMs });
