// Values that are there at once or come later, as all of the service has them.

export { andThen, isThenable } from "../maybe.js";
