package io.jrun.bench;

import com.tngtech.archunit.core.importer.ImportOption.DoNotIncludeTests;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;
import com.tngtech.archunit.library.dependencies.SlicesRuleDefinition;

@AnalyzeClasses(packages = "io.jrun.bench", importOptions = DoNotIncludeTests.class)
class BenchArchitectureTest {
    @ArchTest
    static final ArchRule PACKAGES_HAVE_NO_CYCLES =
            SlicesRuleDefinition.slices().matching("io.jrun.(**)").should().beFreeOfCycles();
}
