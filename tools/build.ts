import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')

/** Where the process and each of its threads begin, below `src/`. */
const ENTRIES = [
  'cli/sexton.mjs',
  'main/index-worker.ts',
  'chain/endpoints/logs-worker.ts',
  'store/sqlite/writer-worker.ts',
]

/** These look for files beside themselves, or for a package that nobody needs here. */
const LEFT_AS_THEY_ARE = ['@scalar/fastify-api-reference', 'pg-native']

/** By this a package that is CommonJS asks Node for its modules. */
const REQUIRE = `import{createRequire as requireOf}from'node:module';const require=requireOf(import.meta.url);`

/** Every file that a build was made of, with its size and time. */
const INPUTS_FILE = join(ROOT, 'dist', 'inputs.json')

/** What `npm start` runs. */
export const BUILT_PROGRAM = join(ROOT, 'dist', 'cli', 'sexton.js')

if (import.meta.main) await buildService()

/**
 * Bundles the service into `dist/`, unless it stands there already: a start reads a tenth of the files
 * and takes two thirds of the time. Files of an older build stay, since a process that runs may not
 * have loaded them all.
 */
export async function buildService(): Promise<void> {
  if (await isBuilt()) return
  const { build } = await import('esbuild')
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: ENTRIES.map((entry) => join('src', entry)),
    outbase: 'src',
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
    logLevel: 'warning',
  })
  const inputs = [...Object.keys(metafile.inputs), 'tools/build.ts', 'package.json']
  await writeFile(INPUTS_FILE, JSON.stringify(await lookAt(inputs), null, 1))
}

async function isBuilt(): Promise<boolean> {
  try {
    const text = await readFile(INPUTS_FILE, 'utf8')
    const then: Record<string, string> = JSON.parse(text)
    const now = await lookAt(Object.keys(then))
    return Object.entries(now).every(([path, look]) => look === then[path])
  } catch {
    return false
  }
}

async function lookAt(paths: readonly string[]): Promise<Record<string, string>> {
  const looks = paths.map(async (path) => {
    const { size, mtimeMs } = await stat(join(ROOT, path))
    return [path, `${size} ${mtimeMs}`] as const
  })
  return Object.fromEntries(await Promise.all(looks))
}
