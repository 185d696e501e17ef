/**
 * The flight recorder: what a rank's last operations were and how far they came, kept in memory while all goes well and
 * written to the rank's log folder when it does not. Entry classes: {@link io.jrun.comm.record.FlightRecorder},
 * {@link io.jrun.comm.record.FlightDump}.
 */
@NullMarked
package io.jrun.comm.record;

import org.jspecify.annotations.NullMarked;
