/** Finds the methods of a path, as in `Allow`; undefined for an unknown path. */
export function allowedMethods(
  endpoints: readonly { readonly method: 'GET' | 'POST'; readonly path: string }[],
): (path: string) => string | undefined {
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
  // Literal paths first, as in the router.
  entries.sort((a, b) => Number(b.literal) - Number(a.literal))
  return (path) => entries.find((entry) => entry.pattern.test(path))?.allow
}

function patternOf(path: string): RegExp {
  const parts = path.split(/\{[^}]+\}/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('[^/]+')}$`)
}
