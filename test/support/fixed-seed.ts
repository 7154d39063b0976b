import fc from 'fast-check';

/**
 * The same random cases in every run: a change must not fail for a mistake that was there before. `FC_SEED` tries others,
 * as the nightly run does.
 */
fc.configureGlobal({ seed: Number(process.env['FC_SEED'] ?? 1) });
