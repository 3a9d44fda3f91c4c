// Bundles the console into crates/http-console/assets, or into the directory that the first argument names.
// The same sources give the same bytes, so `check` can compare.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { minify } from "terser";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "../crates/http-console/assets");
const source = name => join(here, "src", name);

mkdirSync(out, { recursive: true });
for (const name of readdirSync(out)) rmSync(join(out, name));

// What the console does not use of its packages, and what stays in the bundle because something names it: of phoenix, what
// it has for browsers without WebSocket, its presence, and messages that are not JSON; of marked, what makes HTML, and the
// dialects that are not read.
const UNUSED = [
  [/phoenix\/(longpoll|presence)\.js$/, [/[^]*/, "export default class {}"]],
  [/phoenix\/ajax\.js$/, [/static request\([^]*(?=static serialize)/, ""]],
  [/phoenix\/serializer\.js$/, [/\/\/ private[^]*/, "}"]],
  [/phoenix\/socket\.js$/, [/ {2}connectWithFallback\(fallback[^]*?\n {2}\}\n/, ""]],
  [/marked\.esm\.js$/, [/var v=new ne;.*export\{.*?\};/s, "export{w as Lexer};"], [/this\.options\.pedantic/g, "!1"], [/this\.options\.(gfm|breaks)/g, "!0"]],
];
const without = {
  name: "without",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^phoenix$/ }, () => ({ path: join(here, "node_modules/phoenix/assets/js/phoenix/index.js") }));
    for (const [filter, ...cuts] of UNUSED) {
      onLoad({ filter }, ({ path }) => {
        let contents = readFileSync(path, "utf8");
        for (const [part, instead] of cuts) {
          if (contents.search(part) < 0) throw new Error(`${path} has changed: look for ${part}, and adapt build.mjs`);
          contents = contents.replace(part, instead);
        }
        return { contents };
      });
    }
  },
};

// The sources under src/later are a second script, which app.js loads on demand. It imports shared code from app.js
// (src/shared.ts).
const apart = {
  name: "apart",
  setup({ onResolve }) {
    onResolve({ filter: /later\/later\.ts$/ }, ({ kind }) => (kind === "dynamic-import" ? { path: "./later.js", external: true } : undefined));
  },
};
// Rules in src/pure that only later.js uses may import from message.ts, which is in app.js.
const shared = {
  name: "shared",
  setup({ onResolve }) {
    onResolve({ filter: /(^|\/)shared\.ts$|^\.\/message\.ts$|^preact\/jsx-runtime$/ }, () => ({ path: "./app.js", external: true }));
  },
};

const common = { bundle: true, minify: true, legalComments: "none", charset: "utf8", logLevel: "warning", absWorkingDir: here };
/** Bundles a script; returns the sources that are in it. */
async function script(name, entry, plugins) {
  const { metafile } = await build({
    ...common,
    entryPoints: [source(entry)],
    format: "esm",
    target: ["chrome123", "firefox120", "safari17.5"],
    jsx: "automatic",
    jsxImportSource: "preact",
    outfile: join(out, name),
    metafile: true,
    plugins,
  });
  // What esbuild has minified still becomes about 2 kB smaller after gzip.
  const { code } = await minify(readFileSync(join(out, name), "utf8"), { module: true, ecma: 2022, compress: { passes: 2, pure_getters: true, unsafe_arrows: true } });
  writeFileSync(join(out, name), code);
  return Object.values(metafile.outputs).flatMap(({ inputs }) => Object.keys(inputs).filter(path => inputs[path].bytesInOutput > 0));
}
const inputs = await script("app.js", "main.tsx", [without, apart]);
const laterInputs = await script("later.js", "later/later.ts", [shared]);
const twice = laterInputs.filter(path => inputs.includes(path));
if (twice.length > 0) throw new Error(`in both scripts: ${twice.join(", ")}. Import it from src/shared.ts`);
await build({
  ...common,
  entryPoints: [source("style/app.css")],
  target: ["chrome123", "firefox120", "safari17.5"],
  outfile: join(out, "app.css"),
});
writeFileSync(join(out, "icon.svg"), readFileSync(source("icon.svg")));
// Served at a path that stays, as the browser keeps it and asks there for another version.
await build({ ...common, entryPoints: [source("sw.js")], outfile: join(out, "sw.js") });

// The digest in the paths changes whenever one of these files does, so browsers may keep them forever.
const digest = createHash("sha256");
for (const name of ["app.css", "app.js", "icon.svg", "later.js"]) digest.update(name).update("\0").update(readFileSync(join(out, name)));
const page = readFileSync(source("index.html"), "utf8").replaceAll("DIGEST", digest.digest("hex").slice(0, 16));
writeFileSync(join(out, "index.html"), page);

// What is in the bundle, with its license.
const packages = new Set();
for (const path of [...inputs, ...laterInputs]) {
  const name = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1];
  if (name) packages.add(name);
}
const parts = [...packages].sort().map(name => {
  const directory = join(here, "node_modules", name);
  const { version, license } = JSON.parse(readFileSync(join(directory, "package.json"), "utf8"));
  const file = readdirSync(directory).filter(entry => /^(licen[sc]e|copying)/i.test(entry)).sort()[0];
  if (!file) throw new Error(`${name} has no license file`);
  return `${name} ${version} (${license})\n\n${readFileSync(join(directory, file), "utf8").trim()}\n`;
});
parts.push(`Icons from Lucide 1.62.0 (ISC)\n\n${readFileSync(join(here, "src/parts/icons.license.txt"), "utf8").trim()}\n`);
writeFileSync(join(out, "LICENSES.txt"), "The console contains the following software.\n\n" + parts.join(`\n${"-".repeat(78)}\n\n`));
