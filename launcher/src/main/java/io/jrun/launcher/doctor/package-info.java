/**
 * {@code jrun doctor}: whether this machine has what jobs need, one {@code Check} for each thing. Entry
 * class: {@code Doctor}.
 */
@NullMarked
package io.jrun.launcher.doctor;

import org.jspecify.annotations.NullMarked;
