import { hash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { matchesEtag } from '#http/etag.ts'
import type { Page } from './outside-routes.ts'

export interface StaticContent {
  readonly path: string
  readonly contentType: string
  readonly text: string
  /** Names and values in turn. */
  readonly headers?: readonly string[]
}

/** Shorter texts gain nothing from being packed. */
const PACKED_FROM_BYTES = 1_024

/** Documents change with a deployment only; an ETag makes the next look free after this. */
const CACHED = 'private, max-age=300'

/** A document that stays the same as long as the process runs; packed once, when first asked for. */
export function staticPage(content: StaticContent): Page {
  const etag = `"${hash('sha256', content.text, 'base64url').slice(0, 22)}"`
  const headers = () => ['ETag', etag, 'Cache-Control', CACHED, ...(content.headers ?? [])]
  let packed: Promise<Uint8Array> | undefined
  return {
    path: content.path,
    async read(incoming) {
      if (matchesEtag(incoming.headers['if-none-match'], etag))
        return { status: 304, headers: headers(), body: '' }
      const typed = [...headers(), 'Content-Type', content.contentType]
      const accepted = /\bgzip\b(?!;q=0(?:[,.]|$))/.test(
        String(incoming.headers['accept-encoding'] ?? ''),
      )
      if (!accepted || content.text.length < PACKED_FROM_BYTES)
        return { status: 200, headers: typed, body: content.text }
      packed ??= promisify(gzip)(content.text)
      return { status: 200, headers: [...typed, 'Content-Encoding', 'gzip'], body: await packed }
    },
  }
}
