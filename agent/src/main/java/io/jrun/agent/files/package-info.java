/**
 * Gets the files of a job to a node that lacks them: requests the files from the launcher piece by piece, caches them
 * by their hash for later jobs, and links them into the folder of the job. Entry class: {@code FileStaging}.
 */
@NullMarked
package io.jrun.agent.files;

import org.jspecify.annotations.NullMarked;
