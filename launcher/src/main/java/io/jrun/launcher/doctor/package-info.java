/**
 * {@code jrun doctor}: whether this machine has what jobs need, one {@link io.jrun.launcher.doctor.Check} for each thing. Entry
 * class: {@link io.jrun.launcher.doctor.Doctor}.
 */
@NullMarked
package io.jrun.launcher.doctor;

import org.jspecify.annotations.NullMarked;
