/**
 * What a program on Node needs of a test's environment to start quickly; everything else is left out, so that no
 * setting of the machine reaches it.
 */
export const nodeEnvironment = {
  PATH: process.env.PATH,
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
  NODE_OPTIONS: process.env.NODE_OPTIONS,
  TEST_PACKAGES: process.env.TEST_PACKAGES,
} as const
