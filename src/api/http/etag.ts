import { hash } from 'node:crypto'

/** A weak entity tag (RFC 9110, 8.8.3). Equal ones mean equal content, so nothing per caller may enter it. */
export function weakEtag(of: string | Buffer): string {
  return `W/"${hash('sha256', of, 'base64url').slice(0, 22)}"`
}

/** Compares weakly (RFC 9110, 13.1.2). */
export function matchesEtag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false
  if (header.trim() === '*') return true
  const opaque = etag.replace(/^W\//, '')
  return header.split(',').some((each) => each.trim().replace(/^W\//, '') === opaque)
}
