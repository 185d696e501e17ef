/**
 * {@code jrun doctor}: checks that this machine and other hosts have what jobs need, with one {@code Check} for each
 * thing. Entry class: {@code Doctor}.
 */
@NullMarked
package io.jrun.launcher.doctor;

import org.jspecify.annotations.NullMarked;
