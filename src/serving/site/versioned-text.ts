import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { acceptsCoding, matchesEtag, weakEtag } from '#route/media.ts'
import type { Call, Outgoing } from '#route/route.ts'

export interface Source {
  /** Made anew when the text changes. */
  readonly of: object
  /** Tells several texts of one object apart. */
  readonly name: string
  text(): string
}

interface Version extends Pick<Source, 'of' | 'name'> {
  readonly text: string
  readonly etag: string
  gzipped?: Promise<Buffer>
}

/** Answers with a text that changes now and then; writes and compresses each version once. */
export class VersionedText {
  #last: Version | undefined

  /** `headers` are copied; ETag, coding and the body are added. */
  async answer(incoming: Call, source: Source, headers: readonly string[]): Promise<Outgoing> {
    const version = this.#versionOf(source)
    const { etag, text } = version
    const own = ['ETag', etag, ...headers]
    if (matchesEtag(incoming.headers['if-none-match'], etag))
      return { status: 304, headers: withoutType(own), body: '' }
    if (!acceptsCoding(incoming.headers['accept-encoding']?.toString(), 'gzip'))
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

/** Drops the headers of a body, which a 304 does not carry (RFC 9110, 15.4.5). */
function withoutType(headers: readonly string[]): string[] {
  const at = headers.indexOf('Content-Type')
  return at === -1 ? [...headers] : headers.toSpliced(at, 2)
}
