package io.jrun.launcher.job;

/**
 * The most that each stream of a worker keeps on disk.
 *
 * @param fileBytes bytes of each file
 * @param files number of files
 */
public record LogRetention(long fileBytes, int files) {}
