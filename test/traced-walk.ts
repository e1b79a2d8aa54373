import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { Session } from 'node:inspector/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const root = join(import.meta.dirname, '..')
const SOURCES = `${pathToFileURL(join(root, 'src'))}/`

/** What works beside a walk is not part of every walk. */
const WALKS = 12

const session = new Session()

/** Counts calls in this process from here on. */
export async function startTracing(): Promise<void> {
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
}

export function stopTracing(): void {
  session.disconnect()
}

type Go = () => Promise<void>

/** Files below `src/` that every walk enters, once warm: the second of two in a row, where one alone finds old caches. */
export async function walk(
  go: Go,
  { before, isWarm = false }: { readonly before?: Go; readonly isWarm?: boolean } = {},
): Promise<readonly string[]> {
  const twice = () => go().then(go)
  for (let call = 0; call < WALKS; call += 1) {
    await before?.()
    await go()
  }
  const entered = new Map<string, number>()
  for (let walk = 0; walk < WALKS; walk += 1) {
    await before?.()
    const first = isWarm ? await countCalls(go) : undefined
    const counts = await countCalls(isWarm ? twice : go)
    const files = [...counts].filter(([name, calls]) => calls > (first?.get(name) ?? 0))
    for (const file of new Set(files.map(([name]) => name.split(' ')[0] ?? name)))
      entered.set(file, (entered.get(file) ?? 0) + 1)
  }
  return [...entered].filter(([, walks]) => walks === WALKS).map(([file]) => file)
}

/** Calls by file and place of the function. */
async function countCalls(go: Go): Promise<ReadonlyMap<string, number>> {
  await session.post('Profiler.takePreciseCoverage')
  await go()
  const { result } = await session.post('Profiler.takePreciseCoverage')
  return new Map(
    result
      .filter(({ url }) => url.startsWith(SOURCES))
      .flatMap(({ url, functions }) =>
        functions.flatMap(({ ranges: [range] }) =>
          range === undefined || range.count === 0
            ? []
            : [[`${url.slice(SOURCES.length)} ${range.startOffset}`, range.count] as const],
        ),
      ),
  )
}

export async function assertDrawn(files: readonly string[], most: number): Promise<void> {
  const drawing = await readFile(join(root, 'docs/architecture.md'), 'utf8')
  const missing = files.filter((file) => !drawing.includes(file.split('/').at(-1) ?? file))
  assert.deepEqual(missing, [])
  assert.ok(files.length <= most, `${files.length} files: ${files.join(', ')}`)
}
