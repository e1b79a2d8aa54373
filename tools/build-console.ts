import { glob, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

const ROOT = join(import.meta.dirname, '..')
const OUTPUT = join(ROOT, 'dist/console')

/** Fonts are compressed already. */
const PACKED = /\.(js|css)$/

/** What the page is built from, from the root. */
export async function consoleInputs(): Promise<readonly string[]> {
  const files = [
    'console/**/*.*',
    'client/src/*.ts',
    'src/site/chart/*.ts',
    'tools/build-console.ts',
    'package-lock.json',
  ]
  return Array.fromAsync(glob(files, { cwd: ROOT }))
}

/** Builds the page unless nothing of it changed since. */
export async function refreshConsole(): Promise<void> {
  const times = await Promise.all(
    (await consoleInputs()).map((path) => changedMs(join(ROOT, path))),
  )
  if (Math.max(...times) >= (await changedMs(join(OUTPUT, 'index.html')))) await buildConsole()
}

/** 0 for a file that is not there. */
function changedMs(path: string): Promise<number> {
  return stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  )
}

/** Builds the page into `dist/console`, each asset with its br and gzip forms beside it. */
export async function buildConsole(): Promise<void> {
  const { build } = await import('vite')
  const unfinished = `${OUTPUT}.${process.pid}`
  await build({
    root: join(ROOT, 'console'),
    configFile: false,
    logLevel: 'error',
    publicDir: false,
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
    resolve: { alias: { 'sexton-client': join(ROOT, 'client/src/index.ts') } },
    build: {
      outDir: unfinished,
      emptyOutDir: true,
      target: 'es2022',
      // The policy allows no data: fonts.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
    },
  })
  await buildFirstView(unfinished)
  const assets = join(unfinished, 'assets')
  const names = await readdir(assets)
  await preload(
    unfinished,
    names.filter((name) => PRELOADED.test(name)),
  )
  const packed = names.filter((name) => PACKED.test(name))
  await Promise.all(packed.map((name) => pack(join(assets, name))))
  await replaceOutput(unfinished)
}

/** For the server, which draws with it what is seen before scripts arrive. */
async function buildFirstView(folder: string): Promise<void> {
  const { build } = await import('esbuild')
  await build({
    absWorkingDir: ROOT,
    entryPoints: ['console/src/first-view.tsx'],
    outfile: join(folder, 'first-view.js'),
    bundle: true,
    format: 'esm',
    platform: 'node',
    jsx: 'automatic',
    jsxImportSource: 'preact',
  })
}

/** At once: a server may be reading the old one. */
async function replaceOutput(finished: string): Promise<void> {
  const old = `${finished}.old`
  await rename(OUTPUT, old).catch(() => undefined)
  await rename(finished, OUTPUT)
  await rm(old, { recursive: true, force: true })
}

/** Fonts of the first view: found only in the stylesheet, they would come late and move the text. */
const PRELOADED = /-latin-(400|500|600)-normal-.*\.woff2$/

async function preload(folder: string, names: readonly string[]): Promise<void> {
  const file = join(folder, 'index.html')
  const links = names.map(
    (name) => `<link rel="preload" as="font" type="font/woff2" crossorigin href="/assets/${name}">`,
  )
  const html = await readFile(file, 'utf8')
  await writeFile(file, html.replace('<!--head-->', `<!--head-->\n    ${links.join('\n    ')}`))
}

async function pack(file: string): Promise<void> {
  const content = await readFile(file)
  const params = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY }
  await writeFile(`${file}.br`, await promisify(brotliCompress)(content, { params }))
  await writeFile(`${file}.gz`, await promisify(gzip)(content, { level: 9 }))
}

if (import.meta.main) await buildConsole()
