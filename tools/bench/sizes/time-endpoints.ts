import { setTimeout as sleep } from 'node:timers/promises'

export interface EndpointTime {
  readonly path: string
  readonly firstMs: number
  readonly medianMs: number
  readonly mostMs: number
}

const ROUNDS = 15
/** Answers are kept for the second in which they were made. */
const READY_MS = 1_020
const SKIPPED = /\/(stream|metrics|mcp)|\{(id|webhookId|eventId)\}|card|chart|badge/

/** Every GET of the document that needs no further parameter, once a round, by a key that has most to show. */
export async function timeEndpoints(
  url: string,
  { secret, wallet }: { readonly secret: string; readonly wallet: string },
  note: (line: string) => void,
): Promise<readonly EndpointTime[]> {
  const headers = { authorization: `Bearer ${secret}` }
  const paths = await pathsOf(url, wallet)
  const times = new Map<string, number[]>()
  for (let round = 0; round < ROUNDS; round += 1) {
    await sleep(READY_MS)
    for (const path of paths) {
      const startedMs = performance.now()
      const answer = await fetch(url + path, { headers })
      await answer.arrayBuffer()
      const tookMs = performance.now() - startedMs
      if (!answer.ok && round === 0) note(`left out: ${path} answered ${answer.status}`)
      if (answer.ok) times.set(path, [...(times.get(path) ?? []), tookMs])
    }
  }
  return [...times].map(([path, [firstMs = Number.NaN, ...later]]) => {
    const sorted = later.toSorted((a, b) => a - b)
    const medianMs = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
    return { path, firstMs, medianMs, mostMs: sorted.at(-1) ?? Number.NaN }
  })
}

async function pathsOf(url: string, wallet: string): Promise<readonly string[]> {
  const answer = await fetch(`${url}/openapi.json`)
  const document = (await answer.json()) as Document
  return Object.entries(document.paths).flatMap(([path, { get }]) => {
    if (get === undefined || SKIPPED.test(path)) return []
    const needed = (get.parameters ?? []).filter((each) => each.required && each.in === 'query')
    const query = new URLSearchParams(
      needed.map(({ name, example }) => [
        name,
        name === 'address' ? wallet : String(example ?? ''),
      ]),
    )
    const filled = path.replace('{address}', wallet)
    return filled.includes('{') ? [] : [`${filled}${needed.length > 0 ? `?${query}` : ''}`]
  })
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

interface Operation {
  readonly parameters?: readonly {
    readonly name: string
    readonly in: string
    readonly required?: boolean
    readonly example?: unknown
  }[]
}
