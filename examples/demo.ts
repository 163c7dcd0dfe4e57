// The terminal demonstration: placeholder until it is written.
console.log("sluice");
