import { glob, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { ecosystemFile } from '#ecosystem/ecosystem-file.ts'
import { buildClient } from './build-client.ts'
import { buildConsole, consoleInputs } from './build-console.ts'
import { typeOfSchema } from './schema-types.ts'

const ROOT = join(import.meta.dirname, '..')

/** Where each thread begins, and what others import, below `src/`. */
const ENTRIES = ['ecosystem/define-ecosystem.ts', 'main/index-worker.ts']

/** Where the process begins. Service units name what is built of it. */
const PROGRAM = { in: 'src/ops/cli/sexton.mjs', out: 'cli/sexton' }

/** A native addon, and one that `pg` would load if it were there. */
const LEFT_AS_THEY_ARE = ['@resvg/resvg-js', 'pg-native']

/** Packages of the page, which Vite bundles. */
const OF_PAGE = ['preact', 'preact-render-to-string', '@fontsource/grenze'].map(
  (name) => `node_modules/${name}`,
)

/** By this a package that is CommonJS asks Node for its modules. */
const REQUIRE = `import{createRequire as requireOf}from'node:module';const require=requireOf(import.meta.url);`

/** Every file that a build was made of, with its size and time. */
const INPUTS_FILE = join(ROOT, 'dist', 'inputs.json')

/** What `npm start` runs. */
export const BUILT_PROGRAM = join(ROOT, 'dist', 'cli', 'sexton.js')

/** Types that mappings are written with; no bundle has them. */
const MODULE_TYPES = 'src/ecosystem/module-types.ts'

/** A package holds this build alone. */
if (import.meta.main && process.argv.includes('--clean'))
  await rm(join(ROOT, 'dist'), { recursive: true, force: true })
if (import.meta.main) await buildService()

/**
 * Bundles the service into `dist/`, unless it stands there already: a start reads a tenth of the files
 * and takes two thirds of the time. Files of an older build stay, since a process that runs may not
 * have loaded them all.
 */
export async function buildService(): Promise<void> {
  if (await isBuilt()) return
  const { build } = await import('esbuild')
  const startedMs = Date.now()
  const { metafile, outputFiles } = await build({
    absWorkingDir: ROOT,
    entryPoints: [PROGRAM, ...ENTRIES.map((entry) => fromSource(entry))],
    outdir: 'dist',
    chunkNames: 'chunks/[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node26',
    external: LEFT_AS_THEY_ARE,
    banner: { js: REQUIRE },
    sourcemap: true,
    sourcesContent: false,
    metafile: true,
    write: false,
    logLevel: 'warning',
  })
  for (const { path, contents } of outputFiles) await put(path, contents)
  await put(join(ROOT, 'dist/ecosystem/define-ecosystem.d.ts'), await ecosystemTypes())
  await put(
    join(ROOT, 'dist/licenses.txt'),
    await licensesOf([...Object.keys(metafile.inputs), ...OF_PAGE]),
  )
  await buildClient()
  await buildConsole()
  const inputs = [
    ...Object.keys(metafile.inputs),
    ...(await consoleInputs()),
    MODULE_TYPES,
    'tools/build.ts',
    'tools/build-client.ts',
    'tools/schema-types.ts',
    'package.json',
  ]
  const looks = await Promise.all(inputs.map(lookAt))
  // What was changed meanwhile may be in the bundle or not: the next start builds anew.
  if (looks.every(({ mtimeMs }) => mtimeMs < startedMs))
    await put(INPUTS_FILE, JSON.stringify(looks, null, 1))
}

function fromSource(entry: string) {
  return { in: join('src', entry), out: entry.replace(/\.ts$/, '') }
}

/** The licence of each package of which a file is in the bundle, as most of them ask for. */
async function licensesOf(files: readonly string[]): Promise<string> {
  const packages = files.flatMap(
    (path) => /^.*node_modules\/(@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? [],
  )
  const texts = [...new Set(packages)].sort().map(async (folder) => {
    const { name, version, license } = JSON.parse(
      await readFile(join(ROOT, folder, 'package.json'), 'utf8'),
    )
    const [file] = await Array.fromAsync(
      glob('{LICEN[SC]E,licen[sc]e}*', { cwd: join(ROOT, folder) }),
    )
    const text = file === undefined ? '' : await readFile(join(ROOT, folder, file), 'utf8')
    return `${name} ${version} (${license})\n\n${text.trim()}\n`
  })
  return (await Promise.all(texts)).join('\n---\n\n')
}

async function ecosystemTypes(): Promise<string> {
  return `${await readFile(join(ROOT, MODULE_TYPES), 'utf8')}
export type EcosystemFile = ${typeOfSchema(JSON.parse(JSON.stringify(ecosystemFile)))}

/** Gives an ecosystem file its types: \`export default defineEcosystem({ ... })\`. */
export declare function defineEcosystem(file: EcosystemFile): EcosystemFile
`
}

/** Writes a file in one step: another start may be reading it. */
async function put(path: string, contents: string | Uint8Array): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  const unfinished = `${path}.${process.pid}`
  await writeFile(unfinished, contents)
  await rename(unfinished, path)
}

interface Look {
  /** From the root. */
  readonly path: string
  readonly size: number
  readonly mtimeMs: number
}

async function isBuilt(): Promise<boolean> {
  try {
    const then: readonly Look[] = JSON.parse(await readFile(INPUTS_FILE, 'utf8'))
    const now = await Promise.all(then.map(({ path }) => lookAt(path)))
    return isDeepStrictEqual(now, then)
  } catch {
    return false
  }
}

async function lookAt(path: string): Promise<Look> {
  const { size, mtimeMs } = await stat(join(ROOT, path))
  return { path, size, mtimeMs }
}
