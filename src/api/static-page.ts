import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { acceptsCoding, type Call, matchesEtag, type Outgoing, weakEtag } from '#route.ts'
import type { Page } from './outside-routes.ts'

export interface StaticContent {
  readonly path: string
  readonly contentType: string
  readonly text: string | (() => string | Promise<string>)
  /** Whether the built content may still be shown; always true if absent. */
  readonly isFresh?: () => boolean
  /** Alternating names and values. */
  readonly headers?: readonly string[]
}

/** Content changes with deployments only; after this an ETag revalidates. */
const CACHED = 'private, max-age=300'

/** Builds the text once and shares it among all answers. */
export function staticPage(content: StaticContent): Page {
  const { path, contentType, text, isFresh, headers = [] } = content
  const versions = new VersionedText()
  const build = async () => {
    const built = typeof text === 'string' ? text : await text()
    return { of: {}, name: path, text: () => built }
  }
  let made: ReturnType<typeof build> | undefined
  return {
    path,
    async read(call) {
      if (isFresh?.() === false) made = undefined
      made ??= build()
      const source = await made.catch((error: unknown) => {
        made = undefined
        throw error
      })
      const own = ['Content-Type', contentType, 'Cache-Control', CACHED, ...headers]
      return versions.answer(call, source, own)
    },
  }
}

interface Source {
  /** The text is built again when this object changes. */
  readonly of: object
  /** Distinguishes texts made from the same object. */
  readonly name: string
  text(): string
}

interface Version extends Pick<Source, 'of' | 'name'> {
  readonly text: string
  readonly etag: string
  gzipped?: Promise<Buffer>
}

/** Serves a text that changes now and then; writes and compresses each version once. */
export class VersionedText {
  #last: Version | undefined

  /** `headers` is copied; ETag, coding and body are added. */
  async answer(call: Call, source: Source, headers: readonly string[]): Promise<Outgoing> {
    const version = this.#versionOf(source)
    const { etag, text } = version
    const own = ['ETag', etag, ...headers]
    if (matchesEtag(call.headers['if-none-match'], etag))
      return { status: 304, headers: withoutType(own), body: '' }
    if (!acceptsCoding(call.headers['accept-encoding']?.toString(), 'gzip'))
      return { status: 200, headers: own, body: text }
    version.gzipped ??= promisify(gzip)(text)
    own.push('Content-Encoding', 'gzip')
    return { status: 200, headers: own, body: await version.gzipped }
  }

  #versionOf({ of, name, text: write }: Source): Version {
    if (this.#last?.of === of && this.#last.name === name) return this.#last
    const text = write()
    const etag = weakEtag(text)
    this.#last = { of, name, text, etag }
    return this.#last
  }
}

/** Drops body headers, which a 304 does not carry (RFC 9110, 15.4.5). */
function withoutType(headers: readonly string[]): string[] {
  const at = headers.indexOf('Content-Type')
  return at === -1 ? [...headers] : headers.toSpliced(at, 2)
}
