import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PACKAGE_ROOT } from '#base/package-root.ts'

/** A compiled contract as it is committed in `contracts/artifacts`. */
export interface Artifact {
  readonly contractName: string
  /** The compiler's full version, or the package the bytecode was taken from. */
  readonly compiler: string
  /** SHA-256 of the contract's own source file, absent for contracts taken from a package. */
  readonly sourceHash?: string
  readonly abi: readonly unknown[]
  /** Creation code, `0x` and hex. */
  readonly bytecode: `0x${string}`
  /** Runtime code before immutables are filled in, `0x` and hex. */
  readonly deployedBytecode: `0x${string}`
}

/** Reads a committed artifact; throws when there is no contract of that name. */
export function readArtifact(contractName: string): Artifact {
  return JSON.parse(readFileSync(artifactPath(contractName), 'utf8'))
}

/** Where the artifact of a contract is committed. */
export function artifactPath(contractName: string): string {
  return join(PACKAGE_ROOT, 'contracts/artifacts', `${contractName}.json`)
}

/** The text that is committed for an artifact. */
export function artifactText(artifact: Artifact): string {
  return `${JSON.stringify(artifact, null, 1)}\n`
}
