// The benchmarks: placeholder until they are written.
console.log(JSON.stringify(process.argv.slice(2)));
