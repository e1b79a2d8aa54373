import { type Browser, chromium } from 'playwright-core'
import { findDebianProgram, isExecutable } from './debian-program.ts'

/** A browser starts in a second or two; a loaded machine gets this long. */
const launchTimeoutMs = 60_000

const names = [
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
  'chrome',
] as const
const fixedPlaces = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/snap/bin/chromium',
]

/**
 * The address bar's own pages, which cost each window a second of the processor, and what Playwright
 * switches off that bears on pages of this machine: its list is replaced by this one.
 */
const featuresOff = [
  'WebUIOmniboxPopup',
  'WebUIOmniboxAimPopup',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsFirstBalancedModeAutoEnable',
  'HttpsUpgrades',
  'PaintHolding',
]

/**
 * Refuses every host but this machine, by name and by address, and keeps the browser's own
 * services (updates, sync, QUIC) from trying.
 */
const flags = [
  '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE localhost , EXCLUDE 127.0.0.1',
  '--disable-quic',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
  '--disable-gpu',
  `--disable-features=${featuresOff.join()}`,
]

/**
 * Starts a real headless Chromium that reaches 127.0.0.1 and localhost only. The caller closes it.
 * Uses CHROMIUM_PATH, else a browser on this machine, else installs Debian's (see `findChromium`).
 */
export async function launchChromium(
  environment: NodeJS.ProcessEnv = process.env,
): Promise<Browser> {
  return chromium.launch({
    executablePath: await findChromium(environment),
    headless: true,
    chromiumSandbox: false,
    args: flags,
    timeout: launchTimeoutMs,
  })
}

/** Path of a Chromium or Chrome: CHROMIUM_PATH, one of this machine, or Debian's, newly installed. */
export async function findChromium(environment: NodeJS.ProcessEnv): Promise<string> {
  const chosen = environment.CHROMIUM_PATH
  if (chosen !== undefined && chosen !== '') {
    if (await isExecutable(chosen)) return chosen
    throw new Error(`CHROMIUM_PATH is ${chosen}, which is not an executable file`)
  }
  return findDebianProgram(environment, { names, places: fixedPlaces, missing: noBrowser })
}

const noBrowser =
  'The browser tests found no Chromium: install one (on Debian: apt-get install chromium) ' +
  'or set CHROMIUM_PATH to its executable'
