import { type Command, InvalidArgumentError, Option } from 'commander'
import { type WriteCall, writeCalls } from './strace.ts'

export type EngineName = 'sqlite' | 'postgres'

/** `--engine`, of a program that runs on either. */
export function engineOption(): Option {
  const engines: readonly EngineName[] = ['sqlite', 'postgres']
  return new Option('--engine <engine>', 'what the service stores in')
    .choices(engines)
    .default('sqlite')
}

export interface KillOptions {
  readonly every: number
  readonly from: number
  readonly call?: WriteCall
}

/** At which writes a program kills. */
export function withKillOptions(command: Command): Command {
  return command
    .option('--every <count>', 'kills at every so many writes only', readNumber, 1)
    .option('--from <write>', 'the first of them', readNumber, 1)
    .addOption(new Option('--call <call>', 'writes by this system call only').choices(writeCalls))
}

/** Reads an option that is zero or more. */
export function readNumber(text: string): number {
  if (!/^\d+(\.\d+)?$/.test(text)) throw new InvalidArgumentError('It has to be a number.')
  return Number(text)
}
