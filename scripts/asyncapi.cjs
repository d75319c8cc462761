// Parses a document of AsyncAPI and prints what is wrong with it: node scripts/asyncapi.cjs FILE. Node finds the parser by NODE_PATH.
const { readFileSync } = require("fs");
const { Parser } = require("@asyncapi/parser");

const [path] = process.argv.slice(2);
new Parser().parse(readFileSync(path, "utf8")).then(({ document, diagnostics }) => {
  // Anything above a hint, such as that there is a newer version of the format.
  const faults = diagnostics.filter((found) => found.severity < 2);
  for (const { message, path: place } of faults) console.error(`${path}: ${place.join(".")}: ${message}`);
  process.exit(document && faults.length === 0 ? 0 : 1);
});
