import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

const ROOT = join(import.meta.dirname, '..')
const OUTPUT = join(ROOT, 'dist/console')

/** Fonts are compressed already. */
const PACKED = /\.(js|css)$/

/** Builds the page into `dist/console`, each asset with its br and gzip forms beside it. */
export async function buildConsole(): Promise<void> {
  const { build } = await import('vite')
  await build({
    root: join(ROOT, 'console'),
    configFile: false,
    logLevel: 'error',
    publicDir: false,
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
    resolve: { alias: { 'sexton-client': join(ROOT, 'client/src/index.ts') } },
    build: {
      outDir: OUTPUT,
      emptyOutDir: true,
      target: 'es2022',
      // The policy allows no data: fonts.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
    },
  })
  const assets = join(OUTPUT, 'assets')
  const names = await readdir(assets)
  await preload(names.filter((name) => PRELOADED.test(name)))
  const packed = names.filter((name) => PACKED.test(name))
  await Promise.all(packed.map((name) => pack(join(assets, name))))
}

/** Fonts of the first view: found only in the stylesheet, they would come late and move the text. */
const PRELOADED = /-latin-(400|500|600)-normal-.*\.woff2$/

async function preload(names: readonly string[]): Promise<void> {
  const file = join(OUTPUT, 'index.html')
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
