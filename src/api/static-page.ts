import { hash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { matchesEtag } from '#http/etag.ts'
import type { Page } from './outside-routes.ts'

export interface StaticContent {
  readonly path: string
  readonly contentType: string
  /** Made when first asked for: few processes are ever asked for every document. */
  readonly text: string | (() => string | Promise<string>)
  /** Names and values in turn. */
  readonly headers?: readonly string[]
}

/** Shorter texts gain nothing from being packed. */
const PACKED_FROM_BYTES = 1_024

/** Documents change with a deployment only; an ETag makes the next look free after this. */
const CACHED = 'private, max-age=300'

/** A document that stays the same as long as the process runs; packed once, when first asked for. */
export function staticPage(content: StaticContent): Page {
  let made: Promise<Made> | undefined
  let packed: Promise<Uint8Array> | undefined
  return {
    path: content.path,
    async read(incoming) {
      made ??= make(content)
      const { text, etag } = await made.catch((error: unknown) => {
        made = undefined
        throw error
      })
      const headers = () => ['ETag', etag, 'Cache-Control', CACHED, ...(content.headers ?? [])]
      if (matchesEtag(incoming.headers['if-none-match'], etag))
        return { status: 304, headers: headers(), body: '' }
      const typed = [...headers(), 'Content-Type', content.contentType]
      const accepted = /\bgzip\b(?!;q=0(?:[,.]|$))/.test(
        String(incoming.headers['accept-encoding'] ?? ''),
      )
      if (!accepted || text.length < PACKED_FROM_BYTES)
        return { status: 200, headers: typed, body: text }
      packed ??= promisify(gzip)(text)
      return { status: 200, headers: [...typed, 'Content-Encoding', 'gzip'], body: await packed }
    },
  }
}

interface Made {
  readonly text: string
  readonly etag: string
}

async function make({ text: given }: StaticContent): Promise<Made> {
  const text = typeof given === 'string' ? given : await given()
  return { text, etag: `"${hash('sha256', text, 'base64url').slice(0, 22)}"` }
}
