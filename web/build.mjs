// Bundles every file directly in src/ and copies public/ beside the bundles.
//
//   node build.mjs OUTPUT_DIRECTORY
//
// Bundles carry a content hash in their name, so they may be cached for ever; files of public/ keep theirs,
// because a service worker and a web app manifest are found by address. manifest.json maps the name a
// template asks for to the name it has here: {"app.js": "app-5ZK4W2QJ.js", "sw.js": "sw.js"}.
import { build } from "esbuild";
import { cp, mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const sources = path.join(here, "src");
const publicFiles = path.join(here, "public");
const output = path.resolve(process.argv[2] ?? path.join(here, "../src/reedbed/web/assets/dist"));

await mkdir(output, { recursive: true });
const bundles = await bundle();
const manifest = { ...bundles, ...(await copyPublicFiles()), ...(await copyFontLicences()) };
await nameChunks("sw.js", Object.values(bundles).filter((file) => /^(chunk|article|playback)-/.test(file)));
await writeFile(path.join(output, "manifest.json"), JSON.stringify(manifest, null, 1) + "\n");

async function bundle() {
  const result = await build({
    absWorkingDir: here,
    entryPoints: await entryPoints(),
    entryNames: "[name]-[hash]",
    assetNames: "[name]-[hash]",
    chunkNames: "chunk-[hash]",
    outdir: output,
    bundle: true,
    minify: true,
    splitting: true,
    format: "esm",
    target: ["chrome120", "firefox121", "safari17.2"],
    legalComments: "none",
    loader: { ".svg": "file", ".woff2": "file", ".png": "file" },
    metafile: true,
    logLevel: "warning",
  });
  return Object.fromEntries(Object.entries(result.metafile.outputs).map(namedByEntryPoint));
}

async function entryPoints() {
  const names = (await readdir(sources)).filter((name) => /\.(js|css)$/.test(name));
  return names.sort().map((name) => path.join(sources, name));
}

// Chunks and fonts are asked for by bundles, which know their names. A bundle that only imports a chunk is that chunk,
// unless it is one that scripts ask for.
function namedByEntryPoint([file, { entryPoint, inputs, imports }]) {
  const own = Object.values(inputs).some(({ bytesInOutput }) => bytesInOutput > 0);
  const isStub = path.dirname(entryPoint ?? "") === "src" && !own && imports.length === 1;
  const holder = isStub ? imports[0].path : file;
  return [path.basename(entryPoint ?? file), path.basename(holder)];
}

async function copyPublicFiles() {
  const files = await readdir(publicFiles, { recursive: true, withFileTypes: true }).catch(() => []);
  const names = files.filter((file) => file.isFile()).map(nameInPublic).sort();
  for (const name of names) await cp(path.join(publicFiles, name), path.join(output, name), { recursive: true });
  return Object.fromEntries(names.map((name) => [name, name]));
}

// The service worker keeps also the scripts and styles that pages load when they need them.
async function nameChunks(worker, files) {
  const file = path.join(output, worker);
  const [head, tail, ...more] = (await readFile(file, "utf8")).split("const CHUNKS = [];");
  if (tail === undefined || more.length) throw new Error(`${worker} has no place for the names of the chunks`);
  await writeFile(file, `${head}const CHUNKS = ${JSON.stringify(files.sort())};${tail}`);
}

// The licence of a font has to go with it.
async function copyFontLicences() {
  const fonts = ["@fontsource-variable/literata", "@fontsource/atkinson-hyperlegible"];
  const names = fonts.map((font) => `${path.basename(font)}-LICENSE.txt`);
  await Promise.all(
    fonts.map((font, place) => cp(path.join(here, "node_modules", font, "LICENSE"), path.join(output, names[place]))),
  );
  return Object.fromEntries(names.map((name) => [name, name]));
}

function nameInPublic(file) {
  const directory = file.parentPath ?? file.path;
  return path.relative(publicFiles, path.join(directory, file.name)).split(path.sep).join("/");
}
