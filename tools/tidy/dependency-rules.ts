/** What of package.json the rules read. */
export type Manifest = {
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

/** What of package-lock.json the rules read. */
export type Lock = {
  readonly packages: Readonly<
    Record<string, { readonly resolved?: string; readonly link?: boolean }>
  >
}

/**
 * Direct dependencies that lack a line `` - `name`: reason `` in the document, and lines for
 * packages that are no direct dependency.
 */
export function reasonFaults(manifest: Manifest, document: string): string[] {
  const lines = [...document.matchAll(/^- `([^`]+)`: \S/gm)].map((match) => match[1] ?? '')
  const names = Object.keys(versionsOf(manifest))
  return [
    ...names.filter((name) => !lines.includes(name)).map((name) => `${name}: no line of reason`),
    ...lines.filter((name) => !names.includes(name)).map((n) => `${n}: is no direct dependency`),
  ]
}

/** Direct dependencies whose version is a range, a tag or an address. */
export function manifestFaults(manifest: Manifest): string[] {
  return Object.entries(versionsOf(manifest))
    .filter(([, version]) => !/^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version))
    .map(([name, version]) => `${name}: ${version} is not one exact version`)
}

/** Locked packages that name where they were fetched from: the lock must fit every mirror. */
export function resolvedAddresses(lock: Lock): string[] {
  return Object.entries(lock.packages)
    .filter(([, { resolved, link }]) => resolved !== undefined && link !== true)
    .map(([path]) => path)
}

function versionsOf(manifest: Manifest): Record<string, string> {
  return { ...manifest.dependencies, ...manifest.devDependencies }
}
