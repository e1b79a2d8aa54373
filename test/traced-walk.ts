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

/** Files below `src/` that every walk enters, once warm. */
export async function walk(
  go: Go,
  { before }: { readonly before?: Go } = {},
): Promise<readonly string[]> {
  for (let call = 0; call < WALKS; call += 1) {
    await before?.()
    await go()
  }
  const entered = new Map<string, number>()
  for (let walk = 0; walk < WALKS; walk += 1) {
    await before?.()
    for (const file of await filesCalled(go)) entered.set(file, (entered.get(file) ?? 0) + 1)
  }
  // A job may run during each walk of a slow machine.
  return [...entered]
    .filter(([file, walks]) => walks === WALKS && file !== 'index/run-jobs.ts')
    .map(([file]) => file)
}

async function filesCalled(go: Go): Promise<ReadonlySet<string>> {
  await session.post('Profiler.takePreciseCoverage')
  await go()
  const { result } = await session.post('Profiler.takePreciseCoverage')
  const called = result.filter(({ functions }) =>
    functions.some(({ ranges: [range] }) => range !== undefined && range.count > 0),
  )
  const files = called.filter(({ url }) => url.startsWith(SOURCES))
  return new Set(files.map(({ url }) => url.slice(SOURCES.length)))
}

export async function assertDrawn(files: readonly string[], most: number): Promise<void> {
  const drawing = await readFile(join(root, 'docs/architecture.md'), 'utf8')
  const missing = files.filter((file) => !drawing.includes(file.split('/').at(-1) ?? file))
  assert.deepEqual(missing, [])
  assert.ok(files.length <= most, `${files.length} files: ${files.join(', ')}`)
}
