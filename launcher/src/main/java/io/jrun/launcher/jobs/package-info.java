/**
 * The commands about running and ended jobs: {@code jrun ps}, {@code describe}, {@code logs}, {@code attach}, {@code
 * cancel} and {@code stack}. Entry class: {@code JobCommands}.
 */
@NullMarked
package io.jrun.launcher.jobs;

import org.jspecify.annotations.NullMarked;
