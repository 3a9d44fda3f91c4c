// Runs the unit tests of src/pure: Node.js 20 does not read TypeScript, so esbuild translates them first.
import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const pure = join(here, "src/pure");
const out = mkdtempSync(join(tmpdir(), "console-unit-"));
const names = readdirSync(pure).filter(name => name.endsWith(".test.ts"));
await build({ entryPoints: names.map(name => join(pure, name)), bundle: true, platform: "node", format: "esm", outdir: out, outExtension: { ".js": ".mjs" }, logLevel: "warning" });
const { status } = spawnSync(process.execPath, ["--test", ...names.map(name => join(out, name.replace(/\.ts$/, ".mjs")))], { stdio: "inherit", env: { ...process.env, CONSOLE_SOURCES: join(here, "src") } });
rmSync(out, { recursive: true });
process.exit(status ?? 1);
