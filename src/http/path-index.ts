import type { Endpoint } from './exchange.ts'

export interface PathIndex {
  /** Methods of the path for an `Allow` header, or undefined when there is no such path. */
  allow(path: string): string | undefined
}

/** Tells "no such path" from "not with this method"; asked only when the router found nothing. */
export function indexPaths(endpoints: readonly Pick<Endpoint, 'method' | 'path'>[]): PathIndex {
  const methods = new Map<string, Set<string>>()
  for (const { method, path } of endpoints) {
    const own = methods.get(path) ?? new Set(['OPTIONS'])
    own.add(method)
    if (method === 'GET') own.add('HEAD')
    methods.set(path, own)
  }
  const entries = [...methods].map(([path, own]) => ({
    pattern: patternOf(path),
    literal: !path.includes('{'),
    allow: [...own].sort().join(', '),
  }))
  // A literal path wins over a parameter, as in the router.
  entries.sort((a, b) => Number(b.literal) - Number(a.literal))
  return { allow: (path) => entries.find((entry) => entry.pattern.test(path))?.allow }
}

function patternOf(path: string): RegExp {
  const parts = path.split(/\{[^}]+\}/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('[^/]+')}$`)
}

/** The path of a request target: origin form, absolute form (RFC 9112, 3.2.2) or anything else. */
export function pathOf(target: string): string {
  const path = target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?#]*/i, '')
  const end = path.indexOf('?')
  return end === -1 ? path : path.slice(0, end)
}

/**
 * Whether the path is written in the one way that this API knows. No path here needs an escape, so
 * an escape, a fragment or a parameter of a path segment is an attempt at an alias.
 */
export function isCanonical(path: string): boolean {
  for (let index = 0; index < path.length; index += 1) {
    const code = path.charCodeAt(index)
    if (code === 37 || code === 35 || code === 59 || code === 92 || code < 33 || code > 126)
      return false
  }
  return path.startsWith('/')
}
