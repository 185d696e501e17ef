package io.jrun.bench;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.core.importer.ImportOption.DoNotIncludeTests;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;
import com.tngtech.archunit.library.dependencies.SlicesRuleDefinition;

@AnalyzeClasses(packages = "io.jrun.bench", importOptions = DoNotIncludeTests.class)
class BenchArchitectureTest {
    @ArchTest
    static final ArchRule BENCHMARKS_STAND_ON_COMM_TRAIN_AND_PICOCLI = noClasses()
            .should()
            .dependOnClassesThat()
            .resideOutsideOfPackages(
                    "io.jrun.bench..",
                    "io.jrun.comm",
                    "io.jrun.comm.backend",
                    "io.jrun.comm.collective",
                    "io.jrun.comm.cuda",
                    "io.jrun.comm.file",
                    "io.jrun.models..",
                    "io.jrun.train..",
                    "org.bytedeco..",
                    "picocli..",
                    "com.sun.management..",
                    "java..",
                    "org.jspecify..");

    @ArchTest
    static final ArchRule PACKAGES_HAVE_NO_CYCLES =
            SlicesRuleDefinition.slices().matching("io.jrun.(**)").should().beFreeOfCycles();
}
