import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { type Artifact, artifactPath, artifactText } from './artifact.ts'

/**
 * Compiles every contract of `contracts/src` with the pinned compiler and OpenZeppelin's sources,
 * and takes Uniswap's pair and factory from their package as they were published.
 * Throws with the compiler's messages when a source does not compile without warnings.
 */
export function compile(): readonly Artifact[] {
  const sources = readdirSync(sourceFolder)
    .filter((name) => name.endsWith('.sol'))
    .sort()
  const output = runCompiler(sources)
  const own = sources.map((file) => toArtifact(output, file))
  return [...own, ...uniswapContracts.map(publishedArtifact)]
}

interface CompilerContract {
  readonly abi: readonly unknown[]
  readonly evm: {
    readonly bytecode: { readonly object: string }
    readonly deployedBytecode: { readonly object: string }
  }
}

interface CompilerOutput {
  readonly errors?: readonly { readonly formattedMessage: string }[]
  readonly contracts: Readonly<Record<string, Readonly<Record<string, CompilerContract>>>>
}

interface Compiler {
  version(): string
  compile(
    input: string,
    callbacks: { import(path: string): { contents: string } | { error: string } },
  ): string
}

interface PublishedContract {
  readonly abi: readonly unknown[]
  readonly bytecode: string
  readonly evm: { readonly deployedBytecode: { readonly object: string } }
}

const require = createRequire(import.meta.url)
const sourceFolder = join(import.meta.dirname, 'src')
const uniswapContracts = ['UniswapV2Factory', 'UniswapV2Pair']

// Cancun is what the local chains run: later forks make anvil slow, and OpenZeppelin needs MCOPY.
const settings = {
  evmVersion: 'cancun',
  optimizer: { enabled: true, runs: 200 },
  metadata: { bytecodeHash: 'none', appendCBOR: false },
  outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object', 'evm.deployedBytecode.object'] } },
}

function compiler(): Compiler {
  return require('solc')
}

function runCompiler(files: readonly string[]): CompilerOutput {
  const sources = Object.fromEntries(
    files.map((file) => [file, { content: readFileSync(join(sourceFolder, file), 'utf8') }]),
  )
  const input = JSON.stringify({ language: 'Solidity', sources, settings })
  const output: CompilerOutput = JSON.parse(
    compiler().compile(input, { import: readPackageSource }),
  )
  if (output.errors !== undefined && output.errors.length > 0) {
    throw new Error(output.errors.map((error) => error.formattedMessage).join('\n'))
  }
  return output
}

function readPackageSource(path: string): { contents: string } | { error: string } {
  try {
    return { contents: readFileSync(require.resolve(path), 'utf8') }
  } catch (cause) {
    return { error: `${path} is not installed: ${String(cause)}` }
  }
}

function toArtifact(output: CompilerOutput, file: string): Artifact {
  const contractName = file.replace('.sol', '')
  const contract = output.contracts[file]?.[contractName]
  if (contract === undefined) throw new Error(`${file} has no contract named ${contractName}`)
  const source = readFileSync(join(sourceFolder, file))
  return {
    contractName,
    compiler: `solc ${compiler().version()}`,
    sourceHash: createHash('sha256').update(source).digest('hex'),
    abi: contract.abi,
    bytecode: `0x${contract.evm.bytecode.object}`,
    deployedBytecode: `0x${contract.evm.deployedBytecode.object}`,
  }
}

function publishedArtifact(contractName: string): Artifact {
  const published: PublishedContract = require(`@uniswap/v2-core/build/${contractName}.json`)
  return {
    contractName,
    compiler: 'solc 0.5.16, as published in @uniswap/v2-core 1.0.1',
    abi: published.abi,
    bytecode: `0x${published.bytecode}`,
    deployedBytecode: `0x${published.evm.deployedBytecode.object}`,
  }
}

if (import.meta.main) {
  mkdirSync(join(import.meta.dirname, 'artifacts'), { recursive: true })
  for (const artifact of compile()) {
    writeFileSync(artifactPath(artifact.contractName), artifactText(artifact))
  }
}
