/**
 * Reads the dumps of a failed job, matches the operations of the ranks, and names the ranks that differ or are late.
 * Entry classes: {@code FlightReport} for a job, {@code DumpListing} for one rank.
 */
@NullMarked
package io.jrun.launcher.flight;

import org.jspecify.annotations.NullMarked;
