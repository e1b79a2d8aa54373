import { execFile } from 'node:child_process'
import { cp, mkdir, readFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { DockerfileParser, type From, type Instruction } from 'dockerfile-ast'
import { StageRoot } from './stage-root.ts'

const run = promisify(execFile)
const PROJECT = join(import.meta.dirname, '../../..')
const FILE = join(PROJECT, 'deploy/Dockerfile')

/** What an image keeps for its containers. */
export interface ImageConfig {
  workdir: string
  user: string
  environment: Readonly<Record<string, string>>
  entrypoint: readonly string[]
  command: readonly string[]
  healthcheck: readonly string[]
}

export interface BuiltImage {
  readonly root: StageRoot
  readonly config: ImageConfig
  close(): Promise<void>
}

interface Stage {
  readonly root: StageRoot
  readonly config: ImageConfig
}

/** Runs the commands of `deploy/Dockerfile` in order, each stage in an empty root. */
export async function buildImage(log: (line: string) => void): Promise<BuiltImage> {
  const stages = new Map<string, Stage>()
  let stage: Stage | undefined
  for (const instruction of DockerfileParser.parse(
    await readFile(FILE, 'utf8'),
  ).getInstructions()) {
    log(instruction.toString())
    if (isFrom(instruction)) {
      stage = { root: await StageRoot.open(), config: emptyConfig() }
      stages.set(instruction.getBuildStage() ?? String(stages.size), stage)
    } else if (stage !== undefined) await apply(instruction, { stage, stages })
  }
  if (stage === undefined) throw new Error('the Dockerfile has no stage')
  const close = async () => {
    for (const { root } of stages.values()) await root.close()
  }
  return { ...stage, close }
}

function isFrom(instruction: Instruction): instruction is From {
  return instruction.getKeyword() === 'FROM'
}

function emptyConfig(): ImageConfig {
  return {
    ...{ workdir: '/', user: 'root', environment: {} },
    ...{ entrypoint: [], command: [], healthcheck: [] },
  }
}

async function apply(
  instruction: Instruction,
  { stage, stages }: { readonly stage: Stage; readonly stages: ReadonlyMap<string, Stage> },
): Promise<void> {
  const { root, config } = stage
  const text = instruction.getArgumentsContent() ?? ''
  const words = instruction.getArguments().map((each) => each.getValue())
  switch (instruction.getKeyword()) {
    case 'WORKDIR':
      config.workdir = resolve(config.workdir, text)
      await mkdir(join(root.folder, config.workdir), { recursive: true })
      return
    case 'RUN':
      return root.run({ ...config, command: ['/bin/sh', '-c', text] })
    case 'ARG':
      // As BuildKit names it.
      config.environment = { ...config.environment, [text]: process.arch.replace('x64', 'amd64') }
      return
    case 'COPY':
      return copy(stage, {
        words,
        from: stages.get(/--from=(\S+)/.exec(instruction.toString())?.[1] ?? ''),
      })
    case 'ENV':
      config.environment = { ...config.environment, ...pairsOf(text) }
      return
    case 'USER':
      config.user = text
      return
    case 'HEALTHCHECK':
      config.healthcheck = JSON.parse(text.slice(text.indexOf('[')))
      return
    case 'ENTRYPOINT':
      config.entrypoint = JSON.parse(text)
      return
    case 'CMD':
      config.command = JSON.parse(text)
      return
    case 'VOLUME':
    case 'EXPOSE':
      return
    default:
      throw new Error(`no rule for ${instruction.getKeyword()}`)
  }
}

function pairsOf(text: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    text.split(/\s+/).map((pair) => {
      const end = pair.indexOf('=')
      return [pair.slice(0, end), pair.slice(end + 1)]
    }),
  )
}

interface Copy {
  readonly words: readonly string[]
  /** Undefined: from the context. */
  readonly from: Stage | undefined
}

async function copy({ root, config }: Stage, { words, from }: Copy): Promise<void> {
  const paths = words.filter((word) => !word.startsWith('--'))
  const target = paths.at(-1) ?? '.'
  const place = join(root.folder, resolve(config.workdir, target))
  for (const source of paths.slice(0, -1)) {
    if (from !== undefined) await cp(join(from.root.folder, source), place, { recursive: true })
    else if (source === '.') await copyContext(place)
    else
      await cp(
        join(PROJECT, source),
        target.endsWith('/') || target === '.' ? join(place, basename(source)) : place,
      )
  }
}

/** Files that git knows: the ignore file leaves out what git ignores. */
async function copyContext(place: string): Promise<void> {
  const { stdout } = await run('git', ['ls-files', '-z'], { cwd: PROJECT, maxBuffer: 2 ** 24 })
  for (const path of stdout.split('\0').filter(Boolean)) {
    await mkdir(dirname(join(place, path)), { recursive: true })
    await cp(join(PROJECT, path), join(place, path))
  }
}
