import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { acceptsCoding, matchesEtag, weakEtag } from '#route.ts'
import type { Page } from './outside-routes.ts'

export interface StaticContent {
  readonly path: string
  readonly contentType: string
  readonly text: string | (() => string | Promise<string>)
  /** Whether what was built may still be shown; always, if absent. */
  readonly isFresh?: () => boolean
  /** Names and values in turn. */
  readonly headers?: readonly string[]
}

/** Compressing shorter texts gains nothing. */
const PACKED_FROM_BYTES = 1_024

/** Higher qualities take seconds on the largest document. */
const BROTLI_QUALITY = 5

/** Documents change with deployments only; afterwards an ETag revalidates. */
const CACHED = 'private, max-age=300'

/** Builds the bytes once and shares them among all answers. */
export function staticPage(content: StaticContent): Page {
  let made: Promise<Made> | undefined
  return {
    path: content.path,
    async read(incoming) {
      if (content.isFresh?.() === false) made = undefined
      made ??= make(content)
      const { etag, plain, packed } = await made.catch((error: unknown) => {
        made = undefined
        throw error
      })
      const headers = ['ETag', etag, 'Cache-Control', CACHED, ...(content.headers ?? [])]
      if (matchesEtag(incoming.headers['if-none-match'], etag))
        return { status: 304, headers, body: '' }
      headers.push('Content-Type', content.contentType)
      const accepted = incoming.headers['accept-encoding']?.toString()
      const form = packed.find(({ coding }) => acceptsCoding(accepted, coding))
      if (form === undefined) return { status: 200, headers, body: plain }
      headers.push('Content-Encoding', form.coding)
      return { status: 200, headers, body: form.bytes }
    },
  }
}

interface Made {
  readonly etag: string
  readonly plain: Uint8Array
  /** Smallest first. */
  readonly packed: readonly { readonly coding: string; readonly bytes: Uint8Array }[]
}

async function make({ text: given }: StaticContent): Promise<Made> {
  const plain = Buffer.from(typeof given === 'string' ? given : await given())
  const etag = weakEtag(plain)
  if (plain.length < PACKED_FROM_BYTES) return { etag, plain, packed: [] }
  const params = { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY }
  const [br, gz] = await Promise.all([
    promisify(brotliCompress)(plain, { params }),
    promisify(gzip)(plain),
  ])
  return {
    etag,
    plain,
    packed: [
      { coding: 'br', bytes: br },
      { coding: 'gzip', bytes: gz },
    ],
  }
}
