import { glob, readFile } from 'node:fs/promises'
import { basename, dirname, join, normalize } from 'node:path'
import packageJson from '../../package.json' with { type: 'json' }

export interface Selection {
  /** Parts of paths; every file unless given. */
  readonly filters: readonly string[]
  /** Modules that no selected file may import, directly or through others. */
  readonly without: readonly string[]
}

/**
 * Started first, so that no long file runs alone at the end. Within a line files go by name: those of
 * x402 wait most of their time, and leave the processor to those of accounts.
 */
const slowTests = [
  ['test/page/', 'test/x402/killed', 'tools/package.test', 'test/hostile-tokens/'],
  ['test/accounts/', 'test/x402/'],
  ['test/', 'tools/'],
  ['devnet/', 'src/db/'],
]

const tops = ['src', 'devnet', 'contracts', 'examples', 'test', 'tools']

/** Test files in the order to run them, as paths from the root. */
export async function selectTests(
  root: string,
  { filters, without }: Selection,
): Promise<readonly string[]> {
  const all: string[] = []
  for await (const file of glob(
    tops.map((top) => `${top}/**/*.test.ts`),
    { cwd: root },
  ))
    all.push(file.replaceAll('\\', '/'))
  const wanted = all.filter(
    (file) => filters.length === 0 || filters.some((filter) => file.includes(filter)),
  )
  const imports = new Imports(root)
  const clear = await Promise.all(
    wanted.map(async (file) => {
      const reached = await imports.reachedFrom(file)
      return without.some((module) => reached.has(module)) ? [] : [file]
    }),
  )
  return clear
    .flat()
    .sort((one, other) => rank(one) - rank(other) || (basename(one) < basename(other) ? -1 : 1))
}

function rank(file: string): number {
  const found = slowTests.findIndex((starts) => starts.some((start) => file.startsWith(start)))
  return found < 0 ? slowTests.length : found
}

/** What the project's files import. */
class Imports {
  readonly #root: string
  readonly #direct = new Map<string, Promise<readonly string[]>>()

  constructor(root: string) {
    this.#root = root
  }

  async reachedFrom(file: string): Promise<ReadonlySet<string>> {
    const reached = new Set([file])
    // A set also yields what is added while it is read.
    for (const each of reached) for (const next of await this.#directOf(each)) reached.add(next)
    return reached
  }

  #directOf(file: string): Promise<readonly string[]> {
    let known = this.#direct.get(file)
    if (known === undefined) {
      known = readImports(join(this.#root, file)).then((names) =>
        names.flatMap((name) => resolveImport(file, name) ?? []),
      )
      this.#direct.set(file, known)
    }
    return known
  }
}

const importPattern = /^(?:import|export)\s+(?!type\s)[^'"]*?from '([^']+)'|import\('([^']+)'\)/gm

/** What a file imports, as written there; type-only imports do not count. */
export async function readImports(path: string): Promise<readonly string[]> {
  const text = await readFile(path, 'utf8').catch(() => '')
  return [...text.matchAll(importPattern)].flatMap(([, name, lazy]) => name ?? lazy ?? [])
}

function resolveImport(file: string, name: string): string | undefined {
  if (name.startsWith('.')) return normalize(join(dirname(file), name)).replaceAll('\\', '/')
  for (const [pattern, target] of Object.entries(packageJson.imports)) {
    const start = pattern.slice(0, -1)
    if (name.startsWith(start))
      return normalize(target.replace('*', name.slice(start.length))).replaceAll('\\', '/')
  }
  return undefined
}
