import { createHash } from 'node:crypto'
import { glob, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readImports } from './select-tests.ts'

/** Packages of many small modules: reading them is most of what a test process does before its tests. */
const PACKAGES =
  /^(@ethereumjs\/mpt|@modelcontextprotocol\/sdk|@x402|ajv|ajv-formats|axios|fast-check|fastify|ox|pg|pino|prom-client|typebox|viem)(\/|$)/

/** By this a package that is CommonJS asks Node for its modules. */
const REQUIRE = `import{createRequire as requireOf}from'node:module';const require=requireOf(import.meta.url);`

/** Node's name of all that a CommonJS module exports. */
const COMMON = 'module.exports'

/**
 * Bundles what the project imports of these packages, so that they share their modules, and returns the
 * folder; `short-imports.mjs` leads imports there. It is kept until a package or an import changes.
 */
export async function bundlePackages(root: string, cache: string): Promise<string> {
  const names = await importedNames(root)
  const lock = await readFile(join(root, 'package-lock.json'), 'utf8')
  const own = await readFile(import.meta.filename, 'utf8')
  const key = createHash('sha256')
    .update(JSON.stringify([names, lock, own]))
    .digest('hex')
  const folder = join(cache, `packages-${key.slice(0, 16)}`)
  const isMade = await readFile(join(folder, 'names.json')).then(
    () => true,
    () => false,
  )
  if (!isMade) await makeBundle({ root, folder, names })
  return folder
}

async function importedNames(root: string): Promise<readonly string[]> {
  const found = new Set<string>()
  for await (const file of glob('{src,devnet,test,tools,examples}/**/*.{ts,js}', { cwd: root }))
    for (const name of await readImports(join(root, file))) if (PACKAGES.test(name)) found.add(name)
  return [...found].sort()
}

/** In one step: another run may make it at the same time. */
async function makeBundle(input: {
  readonly root: string
  readonly folder: string
  readonly names: readonly string[]
}): Promise<void> {
  const { root, folder, names } = input
  const { build } = await import('esbuild')
  const draft = `${folder}.${process.pid}`
  const fileOf = (name: string) => name.replace(/[^\w.-]/g, '_')
  await mkdir(draft, { recursive: true })
  const entryOf = async (name: string) => {
    const exported = Object.keys(await import(name))
    if (!exported.includes(COMMON)) return name
    const entry = join(draft, `${fileOf(name)}.entry.mjs`)
    await writeFile(entry, commonEntry(name, exported))
    return entry
  }
  const entries = await Promise.all(names.map(async (name) => [fileOf(name), await entryOf(name)]))
  await build({
    absWorkingDir: root,
    entryPoints: Object.fromEntries(entries),
    nodePaths: [join(root, 'node_modules')],
    outdir: draft,
    outExtension: { '.js': '.mjs' },
    chunkNames: 'chunks/[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node26',
    external: ['pg-native'],
    banner: { js: REQUIRE },
    logLevel: 'warning',
  })
  // Relative, since an installation may be moved.
  const files = names.map((name) => [name, `${fileOf(name)}.mjs`])
  await writeFile(join(draft, 'names.json'), JSON.stringify(Object.fromEntries(files)))
  await rename(draft, folder).catch(() => rm(draft, { recursive: true }))
}

/** Node names what a CommonJS module exports, and esbuild does not. */
function commonEntry(name: string, exported: readonly string[]): string {
  const named = exported.filter((each) => each !== COMMON && each !== 'default')
  const from = JSON.stringify(name)
  return `import all from ${from}\nexport default all\nexport const {${named.join()}} = all\n`
}
