import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Page, STYLE_PATH } from '#api/pages.ts'
import { PACKAGE_ROOT } from '#base/package-root.ts'
import { refuse } from '#base/refusal.ts'
import { acceptsCoding, type Call } from '#route.ts'

export const CONSOLE_FOLDER = join(PACKAGE_ROOT, 'dist/console')

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  woff2: 'font/woff2',
  svg: 'image/svg+xml; charset=utf-8',
}

/** Names contain the content's hash. Private, because headers differ by caller. */
const FOREVER = 'private, max-age=31536000, immutable'

interface Asset {
  readonly type: string
  readonly plain: Buffer
  /** Compressed variants from the build, smallest first. */
  readonly packed: readonly { readonly coding: string; readonly bytes: Buffer }[]
}

/** Output of the build of `console/`. */
interface BuiltConsole {
  readonly assets: ReadonlyMap<string, Asset>
  readonly template: string
  /** Renders the HTML shown before scripts arrive; built from `console/src/first-view.tsx`. */
  readonly drawFirstView: (data: object, first: string) => string
}

/** Read once and together, so that a build that runs meanwhile mixes nothing; undefined until a build exists. */
export function readConsole(folder: string): () => Promise<BuiltConsole | undefined> {
  let built: BuiltConsole | undefined
  const read = async () => {
    built ??= await readBuilt(folder)
    return built
  }
  read().catch(() => undefined)
  return read
}

async function readBuilt(folder: string): Promise<BuiltConsole | undefined> {
  const assets = await readAssets(join(folder, 'assets'))
  const template = await readFile(join(folder, 'index.html'), 'utf8').catch(() => undefined)
  if (template === undefined) return undefined
  const { drawFirstView } = await import(pathToFileURL(join(folder, 'first-view.js')).href)
  return { assets, template, drawFirstView }
}

/** /assets/{file}: scripts, styles and fonts of the page; /page.css: its style under a fixed name for text pages. */
export function assetPages(readBuilt: ReturnType<typeof readConsole>): readonly Page[] {
  const page = (path: string, cached: string, isMeant: (name: string, call: Call) => boolean) => ({
    path,
    async read(call: Call) {
      const { assets = [] } = (await readBuilt()) ?? {}
      const [, asset] = [...assets].find(([name]) => isMeant(name, call)) ?? []
      if (asset === undefined) return refuse('not_found', 'there is no such file; reload the page')
      const headers = { 'Content-Type': asset.type, 'Cache-Control': cached }
      const accepted = call.headers['accept-encoding']?.toString()
      const form = asset.packed.find(({ coding }) => acceptsCoding(accepted, coding))
      if (form === undefined) return { status: 200, headers, body: asset.plain }
      const packed = { ...headers, 'Content-Encoding': form.coding }
      return { status: 200, headers: packed, body: form.bytes }
    },
  })
  return [
    page('/assets/{file}', FOREVER, (name, { path }) => name === path.file),
    page(STYLE_PATH, 'private, max-age=300', (name) => /^index-.*\.css$/.test(name)),
  ]
}

const CODINGS = { '.br': 'br', '.gz': 'gzip' }

async function readAssets(folder: string): Promise<ReadonlyMap<string, Asset>> {
  const names = await readdir(folder).catch((): string[] => [])
  const assets = new Map<string, Asset>()
  for (const name of names) {
    const type = TYPES[name.slice(name.lastIndexOf('.') + 1)]
    if (type === undefined) continue
    const packed = []
    for (const [ending, coding] of Object.entries(CODINGS))
      if (names.includes(name + ending))
        packed.push({ coding, bytes: await readFile(join(folder, name + ending)) })
    assets.set(name, { type, plain: await readFile(join(folder, name)), packed })
  }
  return assets
}
