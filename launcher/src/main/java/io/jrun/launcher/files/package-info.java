/**
 * Lists the files that the workers of a job need, and sends them to agents that lack them. Entry class: {@code
 * JobFiles}.
 */
@NullMarked
package io.jrun.launcher.files;

import org.jspecify.annotations.NullMarked;
