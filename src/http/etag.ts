import { hash } from 'node:crypto'
import type { Effective } from './parameter.ts'

/**
 * A weak entity tag (RFC 9110, 8.8.3) of what an answer shows: the state, the effective query and
 * the media type. Equal tags mean equal content, so nothing per caller may enter the body.
 */
export function etagOf(input: {
  readonly operationId: string
  readonly revision: string
  readonly effective: Readonly<Record<string, Effective>>
  readonly mediaType: string
}): string {
  const text = JSON.stringify([input.operationId, input.revision, input.effective, input.mediaType])
  return `W/"${hash('sha256', text, 'base64url').slice(0, 22)}"`
}

/** Whether an If-None-Match header names the tag (RFC 9110, 13.1.2: weak comparison). */
export function matchesEtag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false
  if (header.trim() === '*') return true
  const opaque = etag.replace(/^W\//, '')
  return header.split(',').some((each) => each.trim().replace(/^W\//, '') === opaque)
}
