import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate, zstdDecompress } from 'node:zlib'
import { EndpointError } from './endpoint-error.ts'
import { BODY_BYTES_MAX } from './read-body.ts'

const decoders = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
  zstd: promisify(zstdDecompress),
} as const

/** RFC 9110, 8.4. Off the main thread. */
export async function decompress(body: Buffer, encoding: string): Promise<Buffer> {
  const name = encoding.trim().toLowerCase()
  if (name === 'identity' || name === '') return body
  if (!isKnown(name)) throw new EndpointError('malformed', `unknown content-encoding ${name}`)
  try {
    return await decoders[name](body, { maxOutputLength: BODY_BYTES_MAX })
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    if (code === 'ERR_BUFFER_TOO_LARGE')
      throw new EndpointError('too-large', `the answer exceeds ${BODY_BYTES_MAX} bytes`)
    const kind = code === 'Z_BUF_ERROR' ? 'cut-off' : 'malformed'
    throw new EndpointError(kind, `the answer is not a complete ${name} stream`, { cause: error })
  }
}

function isKnown(name: string): name is keyof typeof decoders {
  return Object.hasOwn(decoders, name)
}
