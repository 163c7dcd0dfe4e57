// The script of the challenge page. It solves the proof of work in a worker, or in short slices where there is no worker,
// asks for the pass as a cookie that scripts can't read, and loads the page again. It holds no secret, and where it goes
// next is only ever the address that it is already at.

/** Finds a solution, and says how many hashes it took so far. Runs in a worker; SubtleCrypto would only be slower. */
const SOLVER = `
function makeSolver(token, bits) {
  var K = new Int32Array(64), H0 = new Int32Array(8), W = new Int32Array(64);
  var found = 0;
  function fraction(x) { return ((x - Math.floor(x)) * 4294967296) | 0; }
  for (var n = 2; found < 64; n++) {
    var isPrime = true;
    for (var d = 2; d * d <= n; d++) if (n % d === 0) isPrime = false;
    if (!isPrime) continue;
    if (found < 8) H0[found] = fraction(Math.sqrt(n));
    K[found++] = fraction(Math.cbrt(n));
  }
  function compress(state, bytes, at) {
    var i;
    for (i = 0; i < 16; i++, at += 4)
      W[i] = (bytes[at] << 24) | (bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3];
    for (; i < 64; i++) {
      var x = W[i - 15], y = W[i - 2];
      var s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
      var s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
      W[i] = (W[i - 16] + s0 + W[i - 7] + s1) | 0;
    }
    var a = state[0], b = state[1], c = state[2], e4 = state[3];
    var e = state[4], f = state[5], g = state[6], h = state[7];
    for (i = 0; i < 64; i++) {
      var S1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
      var t1 = (h + S1 + ((e & f) ^ (~e & g)) + K[i] + W[i]) | 0;
      var S0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
      var t2 = (S0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g; g = f; f = e; e = (e4 + t1) | 0; e4 = c; c = b; b = a; a = (t1 + t2) | 0;
    }
    state[0] += a; state[1] += b; state[2] += c; state[3] += e4;
    state[4] += e; state[5] += f; state[6] += g; state[7] += h;
  }
  var text = token + ".";
  var whole = text.length - (text.length % 64);
  var middle = Int32Array.from(H0);
  var first = new Uint8Array(whole);
  for (var j = 0; j < whole; j++) first[j] = text.charCodeAt(j);
  for (j = 0; j < whole; j += 64) compress(middle, first, j);
  var rest = text.slice(whole), state = new Int32Array(8);
  function zeroBits(solution) {
    var tail = rest + solution, size = tail.length + 9 <= 64 ? 64 : 128;
    var bytes = new Uint8Array(size);
    for (var k = 0; k < tail.length; k++) bytes[k] = tail.charCodeAt(k);
    bytes[tail.length] = 128;
    var length = (whole + tail.length) * 8;
    bytes[size - 2] = length >>> 8; bytes[size - 1] = length; bytes[size - 3] = length >>> 16;
    state.set(middle);
    for (k = 0; k < size; k += 64) compress(state, bytes, k);
    return state[0] !== 0 ? Math.clz32(state[0]) : 32;
  }
  var counter = 0;
  return function (tries) {
    for (var end = counter + tries; counter < end; counter++) {
      var solution = counter.toString(36);
      if (zeroBits(solution) >= bits) return solution;
    }
    return null;
  };
}
`;

/** JavaScript that old browsers read too. */
export const PAGE_SCRIPT = `
(function () {
  "use strict";
  ${SOLVER}
  var main = document.querySelector("main");
  var status = document.getElementById("status");
  var again = document.getElementById("again");
  var progress = document.getElementById("progress");
  var token = main.dataset.challenge, bits = Number(main.dataset.bits || 0);
  var canRepeat = main.dataset.repeat === "true";
  var TRIES_MAX = 3, STORE = "sluice-challenge";

  function say(text) { status.textContent = text; }
  function stop(text, label, act) {
    say(text);
    if (progress) progress.hidden = true;
    again.textContent = label; again.hidden = false; again.onclick = act;
  }
  function reload() { location.reload(); }
  function attempts(change) {
    try {
      var count = Number(sessionStorage.getItem(STORE) || 0);
      if (change !== undefined) sessionStorage.setItem(STORE, String(change));
      return count;
    } catch (_) { return 0; }
  }
  function restart() { attempts(0); reload(); }

  function keep(solution) {
    var pass = token + "." + solution + (location.protocol === "https:" ? ";secure" : "");
    return fetch(location.href, {
      method: "GET", headers: { "Sluice-Solution": pass, Accept: "application/json" },
      credentials: "same-origin", cache: "no-store", redirect: "error"
    }).then(function (response) {
      if (!response.ok) throw new Error("refused");
      attempts(attempts() + 1);
      say("Done.");
      if (canRepeat) reload();
      else stop("Done. Go back and send the form again.", "Go back", function () { history.back(); });
    }).catch(function () { stop("That did not work.", "Try again", restart); });
  }

  function solveHere() {
    var solve = makeSolver(token, bits);
    (function slice() {
      var solution = solve(2000);
      if (solution !== null) keep(solution);
      else setTimeout(slice, 0);
    })();
  }
  function solveInWorker() {
    var source = makeSolver + ";onmessage=function(e){var s=makeSolver(e.data.token,e.data.bits),r=null;" +
      "while(r===null)r=s(100000);postMessage(r)};";
    var worker = new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
    worker.onmessage = function (event) { worker.terminate(); keep(event.data); };
    worker.onerror = function () { worker.terminate(); solveHere(); };
    worker.postMessage({ token: token, bits: bits });
  }

  window.sluiceSolved = keep;
  if (attempts() >= TRIES_MAX) {
    attempts(0);
    stop("This does not seem to work. Your browser may not keep cookies for this site.", "Try again", restart);
  } else if (bits > 0) {
    say("Solving…");
    try { solveInWorker(); } catch (_) { solveHere(); }
  }
})();
`;
