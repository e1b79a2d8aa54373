import { InvalidArgumentError, Option } from 'commander'

export type EngineName = 'sqlite' | 'postgres'

/** `--engine`, of a program that runs on either. */
export function engineOption(): Option {
  const engines: readonly EngineName[] = ['sqlite', 'postgres']
  return new Option('--engine <engine>', 'what the service stores in')
    .choices(engines)
    .default('sqlite')
}

/** Reads an option that is zero or more. */
export function readNumber(text: string): number {
  if (!/^\d+(\.\d+)?$/.test(text)) throw new InvalidArgumentError('It has to be a number.')
  return Number(text)
}
