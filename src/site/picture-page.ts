import { AskRefused } from '#api/examples.ts'
import type { Page } from '#api/pages.ts'
import { TtlCache } from '#base/async.ts'
import { isRefusal, type Refusal, refuse } from '#base/refusal.ts'
import { type Clock, MINUTE_MS } from '#base/time.ts'
import { type Call, matchesEtag, weakEtag } from '#route.ts'

/** Keyed by what the picture depends on. */
export interface Picture {
  readonly name: string
  readonly query: Readonly<Record<string, string>>
}

export interface PictureKind {
  readonly path: string
  readonly type: 'image/svg+xml; charset=utf-8' | 'image/png'
  read(incoming: Call): Picture | Refusal | Promise<Picture | Refusal>
  draw(picture: Picture): Promise<string | Buffer>
}

/** Pictures cached per kind. */
const KEPT_MAX = 300

export function picturePage(clock: Clock, { path, type, read, draw }: PictureKind): Page {
  const kept = new TtlCache<string | Buffer>({ max: KEPT_MAX, ttlMs: MINUTE_MS, clock })
  return {
    path,
    async read(incoming) {
      const picture = await read(incoming)
      if (isRefusal(picture)) return picture
      const key = JSON.stringify(picture)
      try {
        const body = await kept.get(key, () => draw(picture))
        const etag = weakEtag(body)
        // The caller's cache and ours together keep a picture for a minute.
        const maxAge = Math.floor(kept.leftMs(key) / 1000)
        const headers = { ETag: etag, 'Cache-Control': `private, max-age=${maxAge}` }
        if (matchesEtag(incoming.headers['if-none-match'], etag))
          return { status: 304, headers, body: '' }
        return { status: 200, headers: { ...headers, 'Content-Type': type, ...POLICY }, body }
      } catch (error) {
        if (error instanceof AskRefused) return error.refusal
        throw error
      }
    },
  }
}

/** A picture opened on its own must not run or load anything. */
const POLICY = { 'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'" }

/** Returns the file name without its ending. */
export function parseName(incoming: Call, known: readonly string[]): string | Refusal {
  const { file = '' } = incoming.path
  const name = file.endsWith('.svg') ? file.slice(0, -'.svg'.length) : ''
  if (known.includes(name)) return name
  return refuse('not_found', `there are ${known.map((each) => `${each}.svg`).join(', ')}`)
}

/** The parameters of these names, which the API's own routes check. */
export function pickQuery({ query }: Call, names: readonly string[]): Picture['query'] {
  const given = names.flatMap((name) => (query.get(name) ?? []).map((value) => [name, value]))
  return Object.fromEntries(given)
}
