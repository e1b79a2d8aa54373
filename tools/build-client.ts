import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const ROOT = join(import.meta.dirname, '..')
const OUTPUT = join(ROOT, 'dist/client')
const TSC = join(ROOT, 'node_modules/.bin/tsc')

/** Builds the client as one module with one file of types, which the service hands out. */
export async function buildClient(): Promise<void> {
  const { build } = await import('esbuild')
  await build({
    absWorkingDir: ROOT,
    entryPoints: ['client/src/index.ts'],
    outfile: join(OUTPUT, 'client.js'),
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
  })
  await writeFile(join(OUTPUT, 'client.d.ts'), await clientTypes())
}

/** The declarations of all modules after each other: their names differ, and imports only name each other. */
async function clientTypes(): Promise<string> {
  if (!existsSync(TSC)) return '// Built without TypeScript, a development package.\nexport {}\n'
  const folder = await mkdtemp(join(tmpdir(), 'sexton-client-'))
  try {
    const parameters = ['-p', 'client', '--emitDeclarationOnly', '--outDir', folder]
    await promisify(execFile)(TSC, parameters, { cwd: ROOT })
    const names = (await readdir(folder)).filter((name) => name.endsWith('.d.ts'))
    const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))
    return texts.join('').replace(/^(import|export) .* from '\.\/.*\n/gm, '')
  } finally {
    await rm(folder, { recursive: true })
  }
}
