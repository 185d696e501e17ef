/**
 * Reads the flight recorders that the ranks of a failed job have dumped, matches their operations and says who diverged.
 * Entry class: {@code FlightReport}.
 */
@NullMarked
package io.jrun.launcher.flight;

import org.jspecify.annotations.NullMarked;
