/**
 * The flight recorder: what a rank's last operations were and how far they came, kept in memory while all goes well and
 * written to the rank's log folder when it does not. Entry classes: {@code FlightRecorder},
 * {@code FlightDump}.
 */
@NullMarked
package io.jrun.comm.record;

import org.jspecify.annotations.NullMarked;
