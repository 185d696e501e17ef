/**
 * Brings a job's files to a node that lacks them: asked of the launcher piece by piece, kept by the hash of their content for
 * later jobs, and laid out in a folder of the job's own. Entry: {@code FileStaging}.
 */
@NullMarked
package io.jrun.agent.files;

import org.jspecify.annotations.NullMarked;
